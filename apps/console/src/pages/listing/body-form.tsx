import { useId, useState } from 'react';

interface Schema {
  type?: unknown;
  title?: string;
  description?: string;
  enum?: unknown[];
  properties?: Record<string, Schema>;
  required?: string[];
  minimum?: number;
  maximum?: number;
  maxLength?: number;
}
type Fields = Record<string, unknown>;

/**
 * The body of a call: a field for each simple property of the listing's schema, and JSON for everything else. The
 * marketplace checks the body against the whole schema before it makes an offer.
 */
export function BodyForm({
  schema,
  body,
  onChange,
}: {
  schema: unknown;
  body: unknown;
  /** Undefined while the text is not a JSON object. */
  onChange: (body: unknown) => void;
}) {
  const properties = Object.entries((schema as Schema | null)?.properties ?? {});
  const hasForm = properties.length > 0 && properties.every(([, property]) => kindOf(property) !== undefined);
  const [asJson, setAsJson] = useState(!hasForm);
  const required = (schema as Schema | null)?.required ?? [];
  const fields = (body ?? {}) as Fields;
  const [text, setText] = useState(() => JSON.stringify(fields, null, 2));
  const problem = useId();
  return (
    <div className="stack tight">
      {hasForm && (
        <label className="check">
          <input
            type="checkbox"
            checked={asJson}
            onChange={({ target }) => {
              setText(JSON.stringify(fields, null, 2));
              if (body === undefined) onChange({});
              setAsJson(target.checked);
            }}
          />
          <span>As JSON</span>
        </label>
      )}
      {asJson ? (
        <label>
          <span>Body (a JSON object)</span>
          <textarea
            rows={6}
            spellCheck={false}
            value={text}
            aria-invalid={body === undefined}
            aria-describedby={problem}
            onChange={({ target }) => {
              setText(target.value);
              onChange(objectIn(target.value));
            }}
          />
          <span id={problem} className="error small">
            {body === undefined && 'This is no JSON object yet.'}
          </span>
        </label>
      ) : (
        properties.map(([name, property]) => (
          <Field
            key={name}
            name={name}
            schema={property}
            isRequired={required.includes(name)}
            value={fields[name]}
            onChange={(value) => {
              const { [name]: _before, ...others } = fields;
              onChange(value === undefined ? others : { ...others, [name]: value });
            }}
          />
        ))
      )}
    </div>
  );
}

function Field({
  name,
  schema,
  isRequired,
  value,
  onChange,
}: {
  name: string;
  schema: Schema;
  isRequired: boolean;
  value: unknown;
  onChange: (value: unknown) => void;
}) {
  const kind = kindOf(schema);
  const help = useId();
  const shared = {
    id: `${help}-field`,
    'aria-describedby': schema.description ? help : undefined,
    required: isRequired,
  };
  return (
    <div className={kind === 'boolean' ? 'check field' : 'field'}>
      <label htmlFor={shared.id}>
        {schema.title ?? name}
        {!isRequired && <span className="muted"> (optional)</span>}
      </label>
      {kind === 'choice' && (
        <select
          {...shared}
          value={value === undefined ? '' : JSON.stringify(value)}
          onChange={({ target }) => onChange(target.value === '' ? undefined : JSON.parse(target.value))}
        >
          <option value=""></option>
          {schema.enum!.map((option) => (
            <option key={JSON.stringify(option)} value={JSON.stringify(option)}>
              {String(option)}
            </option>
          ))}
        </select>
      )}
      {kind === 'boolean' && (
        <input
          {...shared}
          required={false}
          type="checkbox"
          checked={value === true}
          onChange={({ target }) => onChange(target.checked)}
        />
      )}
      {kind === 'number' && (
        <input
          {...shared}
          type="number"
          step={schema.type === 'integer' ? 1 : 'any'}
          min={schema.minimum}
          max={schema.maximum}
          value={typeof value === 'number' ? value : ''}
          onChange={({ target }) => onChange(target.value === '' ? undefined : target.valueAsNumber)}
        />
      )}
      {kind === 'text' && (
        <textarea
          {...shared}
          rows={String(value ?? '').length > 80 ? 4 : 1}
          maxLength={schema.maxLength}
          value={typeof value === 'string' ? value : ''}
          onChange={({ target }) => onChange(target.value === '' && !isRequired ? undefined : target.value)}
        />
      )}
      {schema.description && (
        <span id={help} className="muted small">
          {schema.description}
        </span>
      )}
    </div>
  );
}

/** Undefined if a simple field cannot edit the type. */
function kindOf(schema: Schema): 'choice' | 'boolean' | 'number' | 'text' | undefined {
  if (Array.isArray(schema.enum)) return 'choice';
  if (schema.type === 'boolean') return 'boolean';
  if (schema.type === 'number' || schema.type === 'integer') return 'number';
  return schema.type === 'string' ? 'text' : undefined;
}

function objectIn(text: string): object | undefined {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
