/**
 * The place of the tour. What it consists of is loaded only in a cluster that offers it, so that no
 * other page pays for it.
 */
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { hasControl } from "../../connection/control.js";
import { Problem } from "../../parts/problem.js";

export function TourView() {
  return (
    <>
      <h1>Tour</h1>
      {hasControl() ? <LoadedTour /> : <NoControl />}
    </>
  );
}

function LoadedTour() {
  const [loaded, setLoaded] = useState<{ readonly Tour: ComponentType } | undefined>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    import("./tour.js").then(({ Tour }) => setLoaded({ Tour }), setError);
  }, []);
  if (error !== undefined) return <Problem error={error} />;
  return loaded === undefined ? <p>Loading the tour …</p> : <loaded.Tour />;
}

function NoControl() {
  return (
    <p>
      The tour kills and pauses nodes, so it exists only in a cluster that{" "}
      <code>holdfast cluster</code> started on this machine. Open the address that this command
      printed.
    </p>
  );
}
