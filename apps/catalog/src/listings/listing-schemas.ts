import { isDeepStrictEqual } from 'node:util';
import type { createListing, updateListing } from '@market/contracts/catalog';
import { ChecksBusy, runCheck } from '@market/json-schema';
import { refuse } from '@market/messaging';

type Json = Record<string, unknown> | null | undefined;
type Problem = { field: string; problem: string };
type Schemas = Partial<Record<'input_schema' | 'example_input' | 'output_schema', Json>>;

/** @throws Refusal `schema_invalid`, or `schema_checks_slow` if the seller has used its time for checks. */
export async function assertSchemas(
  contract: typeof createListing | typeof updateListing,
  ...checked: Parameters<typeof schemaProblem>
): Promise<void> {
  const problem = await schemaProblem(...checked).catch((error: unknown) => {
    if (error instanceof ChecksBusy)
      throw refuse(contract, 'schema_checks_slow', { retry_after_seconds: error.retryAfterSeconds });
    throw error;
  });
  if (problem) throw refuse(contract, 'schema_invalid', problem);
}

/**
 * Returns why the schemas or the example of a listing are invalid. The body of a call is a JSON object, so the input
 * schema must describe an object. A check can take as long as a seller wants it to, so what equals the stored value is
 * not checked again.
 * @throws ChecksBusy
 */
export async function schemaProblem(
  sellerId: string,
  given: Schemas,
  stored: Schemas = {},
): Promise<Problem | undefined> {
  const check = (task: Parameters<typeof runCheck>[0]): ReturnType<typeof runCheck> =>
    runCheck(task, { purpose: 'listings', sellerId });
  const isNew = (field: keyof Schemas): boolean =>
    given[field] !== undefined && !isDeepStrictEqual(given[field], stored[field]);
  for (const field of ['input_schema', 'output_schema'] as const) {
    const schema = given[field];
    if (!schema || !isNew(field)) continue;
    const { problem } = await check({ kind: 'schema', schema: JSON.stringify(schema) });
    if (problem !== undefined) return { field, problem };
  }
  if (!isNew('input_schema') && !isNew('example_input')) return undefined;
  const { input_schema = stored.input_schema, example_input = stored.example_input } = given;
  if (!input_schema) return undefined;
  if (input_schema.type !== 'object')
    return { field: 'input_schema', problem: 'must have "type": "object" at its root' };
  // Endpoint tests send the example, and buyers see it.
  if (!example_input) return { field: 'example_input', problem: 'is required beside input_schema' };
  const task = { kind: 'body', schema: JSON.stringify(input_schema), body: JSON.stringify(example_input) } as const;
  return exampleProblem(await check(task));
}

function exampleProblem({ misfit, isExceeded }: Awaited<ReturnType<typeof runCheck>>): Problem | undefined {
  const field = 'example_input';
  if (isExceeded) return { field, problem: 'takes too long to check against input_schema' };
  if (!misfit) return undefined;
  const problems = misfit.problems.map(({ path, problem }) => `at "${path}": ${problem}`);
  return { field, problem: `does not fit input_schema ${problems.join('; ')}` };
}
