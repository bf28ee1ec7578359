/** Switches of the whole page, remembered in this browser. */
import { isPaused, type Theme, theme } from "../state/preferences.js";
import { useStore } from "../state/store.js";

const THEME_NAMES: Readonly<Record<Theme, string>> = {
  system: "As the system",
  light: "Light",
  dark: "Dark",
};

export function ThemeSwitch() {
  const chosen = useStore(theme);
  return (
    <label class="switch">
      Theme
      <select
        value={chosen}
        onChange={({ currentTarget }) => theme.set(currentTarget.value as Theme)}
      >
        {Object.entries(THEME_NAMES).map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Stops everything that moves by itself. The connection stays. */
export function PauseSwitch() {
  const paused = useStore(isPaused);
  return (
    <button type="button" aria-pressed={paused} onClick={() => isPaused.set(!paused)}>
      <svg viewBox="0 0 12 12" width="12" height="12" aria-hidden="true" focusable="false">
        {paused ? <path d="M2 1l9 5-9 5z" /> : <path d="M2 1h3v10H2zM7 1h3v10H7z" />}
      </svg>
      {paused ? "Paused" : "Pause"}
    </button>
  );
}
