/**
 * What a secured cluster shows first. The token goes to the connection and nowhere else; the field is
 * emptied at once.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { accessTokenProblem } from "../connection/access-token.js";
import { useConnection } from "../connection/context.js";
import { useStore } from "../state/store.js";

export function SignIn() {
  const connection = useConnection();
  const { signInReason } = useStore(connection.state);
  const [problem, setProblem] = useState<string>();
  const field = useRef<HTMLInputElement>(null);
  const keep = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);

  function signIn(event: Event): void {
    event.preventDefault();
    const token = field.current?.value.trim() ?? "";
    const wrong = accessTokenProblem(token);
    setProblem(wrong);
    if (wrong !== undefined || field.current === null) return;
    field.current.value = "";
    connection.signIn(token, keep.current?.checked === true);
  }

  const said = problem ?? signInReason;
  return (
    <form class="sign-in" onSubmit={signIn}>
      <h1>Sign in</h1>
      <p>
        This cluster is secured. Sign in with an access token (<code>holdfast access token</code>{" "}
        makes one), or open the dashboard with a client certificate that the cluster knows.
      </p>
      {said !== undefined && (
        <p id="sign-in-problem" class="problem" role="alert">
          {said}
        </p>
      )}
      <label>
        Access token
        <input
          ref={field}
          type="password"
          autocomplete="off"
          spellcheck={false}
          required
          aria-describedby={said === undefined ? undefined : "sign-in-problem"}
        />
      </label>
      <label class="choice">
        <input ref={keep} type="checkbox" />
        Keep it in this tab until it is closed, also when it is reloaded
      </label>
      <button type="submit">Sign in</button>
    </form>
  );
}
