import { BodyCheck, problemOfSchema, TimeExceeded } from '@market/json-schema';

type Json = Record<string, unknown> | null | undefined;

/**
 * Returns why the schemas or the example of a listing are invalid. The body of a call is a JSON object, so the input
 * schema must describe an object.
 */
export function schemaProblem({
  input_schema,
  example_input,
  output_schema,
}: Partial<Record<'input_schema' | 'example_input' | 'output_schema', Json>>):
  { field: string; problem: string } | undefined {
  for (const [field, schema] of Object.entries({ input_schema, output_schema })) {
    const problem = schema ? problemOfSchema(schema) : undefined;
    if (problem !== undefined) return { field, problem };
  }
  if (!input_schema) return undefined;
  if (input_schema.type !== 'object')
    return { field: 'input_schema', problem: 'must have "type": "object" at its root' };
  // Endpoint tests send the example, and buyers see it.
  if (!example_input) return { field: 'example_input', problem: 'is required beside input_schema' };
  return misfitOf(input_schema, example_input);
}

function misfitOf(schema: object, example: object): { field: string; problem: string } | undefined {
  try {
    const misfit = new BodyCheck(JSON.stringify(schema)).misfitOf(example);
    return (
      misfit && { field: 'example_input', problem: `does not fit input_schema at "${misfit.path}": ${misfit.problem}` }
    );
  } catch (error) {
    if (error instanceof TimeExceeded || error instanceof RangeError)
      return { field: 'example_input', problem: 'takes too long to check against input_schema' };
    throw error;
  }
}
