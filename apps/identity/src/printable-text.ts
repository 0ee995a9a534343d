/** Whether the text is readable as a name: it is not blank and has no control characters or unpaired surrogates. */
export const isPrintable = (text: string): boolean => text.trim() !== '' && !/[\p{Cc}\p{Cs}]/u.test(text);
