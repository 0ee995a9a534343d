export interface Success<T> {
  success: true;
  data: T;
}

export interface Pagination {
  page: number;
  limit: number;
  total: number;
  totalPages: number;
}

export interface Page<T> extends Success<T[]> {
  pagination: Pagination;
}

export const success = <T>(data: T): Success<T> => ({ success: true, data });

/** A success around JSON text that must reach the client byte for byte. */
export const successOfJson = (dataJson: string): string => `{"success":true,"data":${dataJson}}`;

export const JSON_TYPE = 'application/json; charset=utf-8';

export const paginated = <T>(items: T[], total: number, { page, limit }: { page: number; limit: number }): Page<T> => ({
  success: true,
  data: items,
  pagination: { page, limit, total, totalPages: Math.ceil(total / limit) },
});
