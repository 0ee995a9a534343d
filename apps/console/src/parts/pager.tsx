import { count } from '../lib/format.js';

interface Pages {
  page: number;
  totalPages: number;
  total: number;
  total_is_estimate?: boolean;
}

/** The number of the page, and links to its neighbours. */
export function Pager({
  pages,
  of: [one, many],
  go,
}: {
  pages: Pages;
  of: [one: string, many: string];
  go: (page: number) => void;
}) {
  const { page, totalPages, total } = pages;
  return (
    <nav className="pager" aria-label={`Pages of ${many}`}>
      <span className="muted">
        {pages.total_is_estimate ? 'More than ' : ''}
        {count(total)} {total === 1 ? one : many}
        {totalPages > 1 && ` · page ${count(page)} of ${count(totalPages)}`}
      </span>
      {totalPages > 1 && (
        <span className="row">
          <button type="button" disabled={page <= 1} onClick={() => go(page - 1)}>
            Previous
          </button>
          <button type="button" disabled={page >= totalPages} onClick={() => go(page + 1)}>
            Next
          </button>
        </span>
      )}
    </nav>
  );
}
