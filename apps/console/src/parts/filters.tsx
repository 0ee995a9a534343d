import { useFilters } from '../lib/search-params.js';

/** A filter of a list, stored in the URL. */
export function Filter({ name, label, options }: { name: string; label: string; options: Record<string, string> }) {
  const [get, set] = useFilters();
  return (
    <label>
      <span>{label}</span>
      <select value={get(name)} onChange={({ target }) => set({ [name]: target.value })}>
        <option value="">All</option>
        {Object.entries(options).map(([value, shown]) => (
          <option key={value} value={value}>
            {shown}
          </option>
        ))}
      </select>
    </label>
  );
}

/** A day in the local time of the viewer. */
export function DayFilter({ name, label }: { name: string; label: string }) {
  const [get, set] = useFilters();
  return (
    <label>
      <span>{label}</span>
      <input type="date" value={get(name)} onChange={({ target }) => set({ [name]: target.value })} />
    </label>
  );
}

/** The beginning of the first day and the end of the last. */
export const instantsOf = (from: string, to: string): { from?: string; to?: string } => ({
  ...(from && { from: new Date(`${from}T00:00:00`).toISOString() }),
  ...(to && { to: new Date(`${to}T23:59:59.999`).toISOString() }),
});
