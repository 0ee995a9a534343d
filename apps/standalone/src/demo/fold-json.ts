/** JSON for the eye: on one line where it fits into the width, else a line a member. */
export function foldJson(value: unknown, width: number, indent = ''): string {
  const inline = onOneLine(value);
  if (indent.length + inline.length <= width || typeof value !== 'object' || value === null) return inline;
  const inner = `${indent}  `;
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  const members = Array.isArray(value)
    ? value.map((item) => inner + foldJson(item, width, inner))
    : Object.entries(value).map(([name, member]) => {
        const label = `${inner}${JSON.stringify(name)}: `;
        return label + foldJson(member, width - (label.length - inner.length), inner);
      });
  return `${open}\n${members.join(',\n')}\n${indent}${close}`;
}

function onOneLine(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(onOneLine).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${onOneLine(member)}`);
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
}
