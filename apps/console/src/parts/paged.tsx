import type { UseQueryResult } from '@tanstack/react-query';
import type { ComponentProps, ReactNode } from 'react';
import { useFilters } from '../lib/search-params.js';
import { Pager } from './pager.js';
import { Loaded } from './states.js';

type PagerProps = ComponentProps<typeof Pager>;

/** The page of a list that the URL names, with a pager; `empty` if the list is empty. */
export function Paged<T>({
  query,
  lines,
  of: things,
  empty,
  children,
}: {
  query: UseQueryResult<{ data: T[]; pagination: PagerProps['pages'] }>;
  lines: number;
  of: PagerProps['of'];
  empty: ReactNode;
  children: (items: T[]) => ReactNode;
}) {
  const [, set] = useFilters();
  return (
    <Loaded query={query} lines={lines}>
      {({ data, pagination }) =>
        data.length === 0 ? (
          empty
        ) : (
          <>
            {children(data)}
            <Pager pages={pagination} of={things} go={(page) => set({ page: String(page) }, { keepPage: true })} />
          </>
        )
      }
    </Loaded>
  );
}
