import { natsConfig, platformConfig, type Variable } from '@market/runtime';
import { services } from '../services.js';

interface Group {
  title: string;
  variables: Variable[];
}

/** Every variable that the code declares, as Markdown lists: one for each process that reads them. */
export function configurationList(): string {
  const groups: Group[] = [
    { title: 'Every process', variables: Object.values(platformConfig.variables) },
    { title: 'Every process of the distributed marketplace', variables: Object.values(natsConfig.variables) },
    ...services.map(({ name, config }) => ({ title: `\`${name}\``, variables: Object.values(config.variables) })),
  ];
  return groups
    .filter(({ variables }) => variables.length > 0)
    .map(({ title, variables }) => [`### ${title}`, '', ...variables.map(toLine)].join('\n'))
    .join('\n\n');
}

function toLine({ name, schema, help }: Variable): string {
  const values = [defaultOf(schema), valuesOf(schema)].filter((text) => text !== '').join('; ');
  return `- \`${name}\`${values === '' ? '' : ` (${values})`}: ${help.replaceAll('<', '&lt;')}`;
}

function defaultOf(schema: Variable['schema']): string {
  if (!schema.safeParse(undefined).success) return '**required**';
  const written = writtenDefaultOf(schema);
  return written === undefined || written === '' ? '' : `\`${written}\``;
}

function valuesOf(schema: Variable['schema']): string {
  const { type, format, enum: options, minimum, maximum } = schema.toJSONSchema({ unrepresentable: 'any' });
  if (options) return options.map((option) => `\`${String(option)}\``).join(', ');
  if (type === 'number') return `${minimum}–${maximum}`;
  return format === 'uri' ? 'URL' : '';
}

/** The default as it would be written in the environment, before it is parsed. */
const writtenDefaultOf = (schema: Variable['schema']): string | undefined =>
  schema.toJSONSchema({ unrepresentable: 'any', io: 'input' }).default as string | undefined;
