const UNFIT = /[\0\p{Surrogate}]/u;

/** Whether PostgreSQL can store the text unchanged: no NUL and no unpaired surrogate. */
export const isFitText = (text: string): boolean => !UNFIT.test(text);
