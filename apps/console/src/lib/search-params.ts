import { useCallback } from 'react';
import { useSearchParams } from 'wouter';

/** The filters of a page, stored in its URL so that a link shows the same. Empty filters are omitted. */
export function useFilters(): [
  get: (name: string) => string,
  set: (changes: Record<string, string>, options?: { keepPage?: boolean }) => void,
] {
  const [params, setParams] = useSearchParams();
  const get = useCallback((name: string) => params.get(name) ?? '', [params]);
  const set = useCallback(
    (changes: Record<string, string>, { keepPage = false } = {}) =>
      setParams(
        (before) => {
          const after = new URLSearchParams(before);
          // A changed filter starts at the first page.
          if (!keepPage) after.delete('page');
          for (const [name, value] of Object.entries(changes)) {
            if (value === '') after.delete(name);
            else after.set(name, value);
          }
          return after;
        },
        { replace: true },
      ),
    [setParams],
  );
  return [get, set];
}
