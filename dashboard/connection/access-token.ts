/**
 * The viewer's access token. It is kept in memory, and in this tab's `sessionStorage` if the viewer
 * wishes it; never in `localStorage`, a cookie or an address. It is shown to nobody.
 */
export { accessTokenProblem } from "../../src/client/transport/access-token.js";

const PLACE = "holdfast.token";

let token: string | undefined = recall();

function recall(): string | undefined {
  try {
    return sessionStorage.getItem(PLACE) ?? undefined;
  } catch {
    // The browser forbids it: the viewer signs in again after a reload.
    return undefined;
  }
}

export function currentToken(): string | undefined {
  return token;
}

/** `isKept`: survives a reload of this tab. */
export function keepToken(value: string, isKept: boolean): void {
  forgetToken();
  token = value;
  if (!isKept) return;
  try {
    sessionStorage.setItem(PLACE, value);
  } catch {
    // The browser forbids it: it lasts as long as the page.
  }
}

export function forgetToken(): void {
  token = undefined;
  try {
    sessionStorage.removeItem(PLACE);
  } catch {
    // Nothing is there.
  }
}
