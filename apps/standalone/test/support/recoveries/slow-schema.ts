/** Checks of a body against this schema double with each level of the body. */
export const SLOW = {
  input_schema: {
    type: 'object',
    anyOf: ['x', 'y'].map((name) => ({ properties: { n: { $ref: '#' } }, required: [name] })),
  },
  example_input: { x: 1 },
};

export const nested = (levels: number): object => (levels === 0 ? {} : { n: nested(levels - 1) });
