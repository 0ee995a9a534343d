const UNFIT = /[\0\p{Surrogate}]/u;

/** Text that comes back from PostgreSQL as it went in: no NUL, no unpaired surrogate. */
export const isFitText = (text: string): boolean => !UNFIT.test(text);
