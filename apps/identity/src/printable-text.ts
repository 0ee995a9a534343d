/** Whether people can read the text as a name: not only blanks, without control characters and broken surrogates. */
export const isPrintable = (text: string): boolean => text.trim() !== '' && !/[\p{Cc}\p{Cs}]/u.test(text);
