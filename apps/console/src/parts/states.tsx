import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ApiError } from '../api/client.js';

/** Placeholders for content, so that the layout does not shift when it is loaded. */
export const Skeleton = ({ lines = 4 }: { lines?: number }) => (
  <div className="skeleton" role="status">
    <span className="visually-hidden">Loading…</span>
    {Array.from({ length: lines }, (_, line) => (
      <div key={line} aria-hidden="true" />
    ))}
  </div>
);

export const Empty = ({ title, children }: { title: string; children?: ReactNode }) => (
  <div className="empty">
    <p className="empty-title">{title}</p>
    {children}
  </div>
);

/** An error with the message of the API, and a way to retry. */
export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
  return (
    <div className="failure" role="alert">
      <p>{error instanceof Error ? error.message : 'Something went wrong.'}</p>
      {error instanceof ApiError && error.requestId && (
        <p className="muted small">
          Request <code>{error.requestId}</code>
        </p>
      )}
      {retry && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** The result of a query, or its loading state or error. */
export function Loaded<T>({
  query,
  lines,
  children,
}: {
  query: UseQueryResult<T>;
  lines?: number;
  children: (data: NonNullable<T>) => ReactNode;
}) {
  if (query.data !== undefined && query.data !== null) {
    return (
      <div aria-busy={query.isPlaceholderData} className={query.isPlaceholderData ? 'stale' : undefined}>
        {query.isError && <Failure error={query.error} retry={() => void query.refetch()} />}
        {children(query.data)}
      </div>
    );
  }
  if (query.isError) return <Failure error={query.error} retry={() => void query.refetch()} />;
  return <Skeleton lines={lines} />;
}
