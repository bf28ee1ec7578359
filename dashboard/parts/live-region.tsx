/** Where `announce` is heard. Stands once on the page, from its beginning. */
import { announcement } from "../state/announcements.js";
import { useStore } from "../state/store.js";

export function LiveRegion() {
  const text = useStore(announcement);
  return (
    <div class="heard-only" aria-live="polite" role="status">
      {text}
    </div>
  );
}
