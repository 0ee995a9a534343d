export interface Success<T> {
  success: true;
  data: T;
}

export interface Pagination {
  page: number;
  limit: number;
  total: number;
  totalPages: number;
  /** Absent if `total` is exact. */
  total_is_estimate?: true;
  /** Only in lists that grow while clients page through them, and if there is another page. */
  next_cursor?: string;
}

export interface Page<T> extends Success<T[]> {
  pagination: Pagination;
}

export const success = <T>(data: T): Success<T> => ({ success: true, data });

/** Wraps JSON text that must reach the client byte for byte. */
export const successOfJson = (dataJson: string): string => `{"success":true,"data":${dataJson}}`;

export const JSON_TYPE = 'application/json; charset=utf-8';

export const paginationOf = (
  total: number,
  { page, limit }: Pick<Pagination, 'page' | 'limit'>,
  isEstimate = false,
): Pagination => ({
  page,
  limit,
  total,
  totalPages: Math.ceil(total / limit),
  ...(isEstimate && { total_is_estimate: true }),
});

export const paginated = <T>(
  items: T[],
  total: number,
  asked: Pick<Pagination, 'page' | 'limit'>,
  nextCursor: string | null = null,
): Page<T> => ({
  success: true,
  data: items,
  pagination: { ...paginationOf(total, asked), ...(nextCursor !== null && { next_cursor: nextCursor }) },
});

/** Wraps a page of items that are already JSON text. @param beside are more members of the envelope. */
export const pageOfJson = (itemsJson: string, pagination: Pagination, beside: object = {}): string =>
  `{"success":true,"data":${itemsJson},${JSON.stringify({ pagination, ...beside }).slice(1)}`;
