/** The frame around all views: navigation, banner, switches, and what stands there before a view. */
import { useEffect, useRef } from "preact/hooks";
import type { ClusterState } from "../connection/cluster.js";
import { useConnection } from "../connection/context.js";
import { nameOf, pageOf } from "../connection/sentences.js";
import { OtherText } from "../parts/key-text.js";
import { LiveRegion } from "../parts/live-region.js";
import { isPaused } from "../state/preferences.js";
import { hrefOf, type Place, place } from "../state/router.js";
import { useStore } from "../state/store.js";
import { VIEWS, type ViewDefinition } from "../views/index.js";
import { SignIn } from "./sign-in.js";
import { PauseSwitch, ThemeSwitch } from "./switches.js";

const NAME = "Holdfast";

export function App() {
  const connection = useConnection();
  const state = useStore(connection.state);
  const at = useStore(place);
  const view = VIEWS.find(({ route }) => route === at.route);
  const main = useRef<HTMLElement>(null);
  const seen = useRef(`${at.route}/${at.argument}`);
  useEffect(() => {
    document.title = view === undefined ? NAME : `${titleOf(view, at)} – ${NAME}`;
    const shown = `${at.route}/${at.argument}`;
    if (seen.current === shown) return;
    seen.current = shown;
    main.current?.focus();
  }, [view, at]);
  return (
    <>
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to the content
      </button>
      <Header state={state} current={view} />
      <Banner state={state} />
      <main ref={main} id="content" tabIndex={-1}>
        <Content state={state} view={view} at={at} />
      </main>
      <LiveRegion />
    </>
  );
}

function titleOf(view: ViewDefinition, { argument }: Place): string {
  return argument === "" ? view.title : `${view.title} ${argument}`;
}

interface HeaderProps {
  readonly state: ClusterState;
  readonly current: ViewDefinition | undefined;
}

function Header({ state, current }: HeaderProps) {
  const connection = useConnection();
  const { viewer, node } = state;
  return (
    <header>
      <p class="brand">{NAME}</p>
      <nav aria-label="Views">
        <ul>
          {VIEWS.filter(({ isInner }) => isInner !== true).map(({ route, title }) => (
            <li key={route}>
              <a href={hrefOf(route)} aria-current={current?.route === route ? "page" : undefined}>
                {title}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <div class="switches">
        {viewer !== undefined && (
          <span class="viewer">
            <OtherText text={viewer.name} />
            {node === 0 ? "" : ` at node ${node}`}
          </span>
        )}
        {connection.isSignedIn && (
          <button type="button" onClick={() => connection.signOut()}>
            Sign out
          </button>
        )}
        <PauseSwitch />
        <ThemeSwitch />
      </div>
    </header>
  );
}

/** What is unusual about the connection; also spoken, by `announce`. */
function Banner({ state }: { readonly state: ClusterState }) {
  const { notice, phase, leader, own, node } = state;
  const connection = useConnection();
  const paused = useStore(isPaused);
  return (
    <>
      {notice !== undefined && phase !== "signIn" && (
        <section class="banner" aria-label="Connection">
          {notice}{" "}
          {phase === "connected" && (
            <button type="button" onClick={() => connection.dismissNotice()}>
              Dismiss
            </button>
          )}
        </section>
      )}
      {phase === "connected" && own !== undefined && leader === 0 && (
        <section class="banner" aria-label="Leader">
          Nobody leads the cluster, as far as node {node} knows: nothing is granted, and what needs
          a leader cannot be shown. <a href={hrefOf("cluster")}>How its nodes are</a>
        </section>
      )}
      {paused && phase === "connected" && (
        <section class="banner banner-quiet" aria-label="Pause">
          Paused: what is shown does not change until you go on.
        </section>
      )}
    </>
  );
}

interface ContentProps {
  readonly state: ClusterState;
  readonly view: ViewDefinition | undefined;
  readonly at: Place;
}

function Content({ state, view, at }: ContentProps) {
  switch (state.phase) {
    case "connecting":
      return <p>Connecting to the cluster …</p>;
    case "lost":
      return <Lost state={state} />;
    case "signIn":
      return <SignIn />;
    case "connected":
      return <Viewed view={view} at={at} />;
  }
}

/** A browser may be allowed to open pages of nodes to which this page may not connect. */
function Lost({ state: { nodes } }: { readonly state: ClusterState }) {
  const known = nodes.filter(({ id }) => id !== 0);
  return (
    <>
      <h1>No connection</h1>
      <p>What was shown here may be out of date, so it is not shown.</p>
      {known.length > 0 && (
        <>
          <p>Other nodes may answer on dashboards of their own:</p>
          <ul>
            {known.map((node) => (
              <li key={node.id}>
                <a href={pageOf(node.endpoint)}>{nameOf(node)}</a>
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

function Viewed({ view, at }: Omit<ContentProps, "state">) {
  if (view === undefined) {
    return (
      <>
        <h1>No such view</h1>
        <p>
          Nothing is shown at this address. <a href={hrefOf("cluster")}>To the cluster</a>
        </p>
      </>
    );
  }
  const { component: View, route } = view;
  return (
    <>
      {view.isInner !== true && <h1>{view.title}</h1>}
      <View key={`${route}/${at.argument}`} argument={at.argument} query={at.query} />
    </>
  );
}
