/**
 * The longest key of the table that consists of the last names, joined by dots.
 * @param names of the component or the operation, then of the properties around a property, then its own.
 */
export const lastNamesIn = (table: Record<string, string>, names: string[]): string | undefined =>
  names.map((_name, index) => names.slice(index).join('.')).find((key) => key in table);
