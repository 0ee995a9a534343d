import { newId } from '@market/kernel';
import { updateListing } from '@market/contracts/catalog';
import { assertSchemas, schemaProblem } from './listing-schemas.js';

const SELLER = newId();

const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const broken = { type: 'objec' };

describe('the schemas of a listing', () => {
  it('are checked when they are given', async () => {
    expect(await schemaProblem(SELLER, { input_schema: schema, example_input: { city: 'Bern' } })).toBeUndefined();
    expect(await schemaProblem(SELLER, { input_schema: schema })).toMatchObject({ field: 'example_input' });
    expect(await schemaProblem(SELLER, { input_schema: broken })).toMatchObject({ field: 'input_schema' });
    expect(await schemaProblem(SELLER, { output_schema: broken })).toMatchObject({ field: 'output_schema' });
  });

  it('are not checked again when they are given as they are stored', async () => {
    const stored = () => ({ input_schema: { ...broken }, example_input: {}, output_schema: { ...broken } });
    expect(await schemaProblem(SELLER, {}, stored())).toBeUndefined();
    expect(await schemaProblem(SELLER, stored(), stored())).toBeUndefined();
  });

  it('are checked against what stays stored', async () => {
    const stored = { input_schema: schema, example_input: { city: 'Bern' } };
    expect(await schemaProblem(SELLER, { example_input: { city: 7 } }, stored)).toMatchObject({
      field: 'example_input',
    });
    expect(await schemaProblem(SELLER, { input_schema: { ...schema, required: ['land'] } }, stored)).toMatchObject({
      field: 'example_input',
    });
    expect(await schemaProblem(SELLER, { input_schema: null }, stored)).toBeUndefined();
    expect(await schemaProblem(SELLER, { example_input: null }, stored)).toMatchObject({ field: 'example_input' });
  });

  it('name all that does not fit in an example', async () => {
    const properties = { city: { type: 'string' }, day: { format: 'date' } };
    const given = { input_schema: { type: 'object', properties }, example_input: { city: 7, day: 'today' } };
    const { problem } = (await schemaProblem(SELLER, given))!;
    expect(problem).toContain('does not fit input_schema at "/city": ');
    expect(problem).toContain('; at "/day": ');
  });

  it('take no more of the time for checks than their seller has, and none of another seller', async () => {
    const nested = (levels: number): object => (levels === 0 ? {} : { n: nested(levels - 1) });
    const slow = {
      input_schema: {
        type: 'object',
        anyOf: ['x', 'y'].map((name) => ({ properties: { n: { $ref: '#' } }, required: [name] })),
      },
      example_input: nested(50) as Record<string, unknown>,
    };
    const problems = await Promise.allSettled(
      Array.from({ length: 90 }, () => assertSchemas(updateListing, SELLER, slow, { input_schema: slow.input_schema })),
    );
    const reasons = problems.map((problem) => (problem as { reason: { reason: string; details: object } }).reason);
    const refused = reasons.filter(({ reason }) => reason === 'schema_checks_slow');
    expect(new Set(reasons.map(({ reason }) => reason))).toEqual(new Set(['schema_invalid', 'schema_checks_slow']));
    expect(refused[0]!.details).toEqual({ retry_after_seconds: expect.any(Number) as number });
    expect(refused.length).toBeGreaterThan(60);
    await assertSchemas(updateListing, newId(), { input_schema: schema, example_input: { city: 'Bern' } });
  });
});
