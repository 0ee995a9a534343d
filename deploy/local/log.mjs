const COLOURS = [36, 33, 32, 35, 34, 91, 92, 93, 94];

/** Writes lines with the name of their process, in colour on a terminal. */
export function createLog(names) {
  const width = Math.max(...names.map((name) => name.length));
  const coloured = process.stdout.isTTY === true && !process.env.NO_COLOR;
  return (name, line) => {
    const label = `${name.padEnd(width)} |`;
    const colour = COLOURS[Math.max(0, names.indexOf(name)) % COLOURS.length];
    process.stdout.write(`${coloured ? `\u001b[${colour}m${label}\u001b[0m` : label} ${line}\n`);
  };
}
