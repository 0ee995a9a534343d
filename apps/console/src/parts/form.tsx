import { createContext, useContext, useEffect, useId, useRef, type ReactNode } from 'react';
import { ApiError } from '../api/client.js';
import { Failure } from './states.js';

const Problems = createContext<Record<string, string>>({});

/**
 * A form whose fields the marketplace checks, all at once: each problem is shown at its field, the first of which gets
 * the focus. A problem of no field is shown at the end.
 */
export function Form({
  error,
  onSubmit,
  children,
}: {
  error: unknown;
  onSubmit: (submitter: string) => void;
  children: ReactNode;
}) {
  const form = useRef<HTMLFormElement>(null);
  const problems = error instanceof ApiError ? error.fields : {};
  useEffect(() => {
    if (error) form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus();
  }, [error]);
  return (
    <Problems value={problems}>
      <form
        ref={form}
        noValidate
        className="stack tight"
        onSubmit={(event) => {
          event.preventDefault();
          onSubmit((event.nativeEvent as SubmitEvent).submitter?.getAttribute('value') ?? '');
        }}
      >
        {children}
        {Object.keys(problems).length > 0 ? (
          <p role="alert" className="error">
            Some fields need a change: see what is said at each.
          </p>
        ) : (
          error !== null && error !== undefined && <Failure error={error} />
        )}
      </form>
    </Problems>
  );
}

interface FieldAttributes {
  id: string;
  'aria-describedby': string;
  'aria-invalid': boolean;
}

/** A field with its label, what helps to fill it in, and what is wrong with it. */
export function Field({
  name,
  label,
  help,
  isOptional,
  children,
}: {
  /** The path of the field in the body of the request. */
  name: string;
  label: string;
  help?: ReactNode;
  isOptional?: boolean;
  children: (attributes: FieldAttributes) => ReactNode;
}) {
  const id = useId();
  const problems = Object.entries(useContext(Problems)).filter(
    ([path]) => path === name || path.startsWith(`${name}.`),
  );
  return (
    <div className="field">
      <label htmlFor={id}>
        {label}
        {isOptional && <span className="muted"> (optional)</span>}
      </label>
      {children({ id, 'aria-describedby': `${id}-help`, 'aria-invalid': problems.length > 0 })}
      <div id={`${id}-help`} className="small">
        {problems.map(([path, problem]) => (
          <p key={path} className="error">
            {problem}
          </p>
        ))}
        {help && <p className="muted">{help}</p>}
      </div>
    </div>
  );
}

/** A field of text, or of several lines. */
export function TextField({
  value,
  onChange,
  rows,
  type,
  placeholder,
  isProse,
  ...field
}: Omit<Parameters<typeof Field>[0], 'children'> & {
  value: string;
  onChange: (value: string) => void;
  rows?: number;
  type?: 'text' | 'number' | 'url' | 'password';
  placeholder?: string;
  /** Text for people, not code. */
  isProse?: boolean;
}) {
  return (
    <Field {...field}>
      {(attributes) =>
        rows === undefined ? (
          <input
            {...attributes}
            type={type ?? 'text'}
            step="any"
            autoComplete="off"
            placeholder={placeholder}
            value={value}
            onChange={({ target }) => onChange(target.value)}
          />
        ) : (
          <textarea
            {...attributes}
            rows={rows}
            className={isProse ? 'words' : undefined}
            spellCheck={isProse ?? false}
            value={value}
            onChange={({ target }) => onChange(target.value)}
          />
        )
      }
    </Field>
  );
}

/** A field with options. */
export const ChoiceField = ({
  value,
  onChange,
  options,
  ...field
}: Omit<Parameters<typeof Field>[0], 'children'> & {
  value: string;
  onChange: (value: string) => void;
  options: Record<string, string>;
}) => (
  <Field {...field}>
    {(attributes) => (
      <select {...attributes} value={value} onChange={({ target }) => onChange(target.value)}>
        {Object.entries(options).map(([option, shown]) => (
          <option key={option} value={option}>
            {shown}
          </option>
        ))}
      </select>
    )}
  </Field>
);
