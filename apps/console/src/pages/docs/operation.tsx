import { useState, type ReactNode } from 'react';
import { Json } from '../../parts/code.js';
import type { Answer, Description, Operation, Schema } from './document.js';

/** Folded content, which is rendered only when it is opened, because all of it together is the whole document. */
function Fold({ id, title, children }: { id?: string; title: ReactNode; children: () => ReactNode }) {
  const [isOpen, setOpen] = useState(id !== undefined && window.location.hash === `#${id}`);
  return (
    <details id={id} open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{title}</summary>
      {isOpen && <div className="folded">{children()}</div>}
    </details>
  );
}

/** One operation: its access rule, parameters and answers. */
export function OperationDocs({ operation, of }: { operation: Operation; of: Description }) {
  const { operationId, method, path, summary, description, parameters = [], requestBody, responses } = operation;
  const body = requestBody?.content['application/json'];
  const answers = Object.entries(responses).filter(([status]) => status !== 'default');
  return (
    <Fold
      id={operationId}
      title={
        <>
          <code className={`method ${method.toLowerCase()}`}>{method}</code> <code>{path}</code>{' '}
          <span className="muted">{summary}</span>
        </>
      }
    >
      {() => (
        <>
          {description && <p>{description}</p>}
          <p className="muted small">{accessOf(operation)}</p>
          {parameters.length > 0 && (
            <>
              <h4>Parameters</h4>
              <dl className="fields">
                {parameters.map(of.the, of).map(({ name, in: place, required, description: described, schema }) => (
                  <div key={`${place} ${name}`}>
                    <dt>
                      <code>{name}</code> <span className="muted">{place}</span>
                      {required && <span className="badge">required</span>}
                    </dt>
                    <dd>
                      {schema && <span className="muted">{kindOf(schema, of)}. </span>}
                      {described}
                    </dd>
                  </div>
                ))}
              </dl>
            </>
          )}
          {body && (
            <>
              <h4>Body{requestBody.required ? '' : ', optional'}</h4>
              {body.schema && <Fields schema={body.schema} of={of} />}
              {Object.entries(body.examples ?? {}).map(([name, example]) => (
                <Json key={name} value={of.the(example).value} label={`Example of the body: ${name}`} />
              ))}
            </>
          )}
          <h4>Answers</h4>
          {answers.map(([status, answer]) => (
            <AnswerDocs key={status} status={status} answer={of.the(answer)} of={of} />
          ))}
        </>
      )}
    </Fold>
  );
}

const accessOf = ({ 'x-access': { credential, scope, account_types: accounts, owners } }: Operation): string => {
  if (credential === 'none') return 'Needs no credential.';
  const who =
    credential === 'optional'
      ? 'An API key shows more'
      : scope
        ? `Needs an API key with the scope ${scope}`
        : `Needs a credential of ${accounts.join(' or ')}`;
  return `${who}${owners ? '; open to the session of the agent’s owner, with agent_id' : ''}.`;
};

function AnswerDocs({ status, answer, of }: { status: string; answer: Answer; of: Description }) {
  const media = answer.content?.['application/json'];
  const title = (
    <>
      <code>{status}</code> <span className="muted">{answer.description}</span>
    </>
  );
  if (!media) return <p className="no-body">{title}</p>;
  const examples = Object.entries(media.examples ?? {}).map(([name, example]): [string, unknown] => [
    name,
    of.the(example).value,
  ]);
  if (media.example !== undefined) examples.unshift(['answer', media.example]);
  return (
    <Fold title={title}>
      {() => (
        <>
          {media.schema && Number(status) < 400 && <Fields schema={media.schema} of={of} />}
          {examples.map(([name, value]) => (
            <Fold key={name} title={`Example: ${name.replaceAll('_', ' ')}`}>
              {() => <Json value={value} label={`${status} ${name}`} />}
            </Fold>
          ))}
        </>
      )}
    </Fold>
  );
}

/** The members of an object, or of the items of a list. */
function Fields({ schema, of }: { schema: Schema; of: Description }) {
  const { properties = {}, required = [] } = objectIn(schema, of);
  return (
    <dl className="fields">
      {Object.entries(properties).map(([name, field]) => {
        const inner = objectIn(field, of);
        return (
          <div key={name}>
            <dt>
              <code>{name}</code>
              {required.includes(name) && <span className="badge">required</span>}
            </dt>
            <dd>
              <span className="muted">{kindOf(field, of)}. </span>
              {field.description ?? of.the(field).description}
              {inner.properties && <Fold title={`What is in ${name}`}>{() => <Fields schema={inner} of={of} />}</Fold>}
            </dd>
          </div>
        );
      })}
    </dl>
  );
}

const variantsOf = ({ anyOf, oneOf }: Schema): Schema[] | undefined => anyOf ?? oneOf;

/** Returns the first object schema that a schema is, may be, or is a list of. */
function objectIn(schema: Schema, of: Description): Schema {
  const known = of.the(schema);
  if (known.items) return objectIn(known.items, of);
  if (known.allOf) {
    const parts = known.allOf.map((part) => objectIn(part, of));
    return {
      properties: Object.assign({}, ...parts.map(({ properties }) => properties)) as Record<string, Schema>,
      required: parts.flatMap(({ required = [] }) => required),
    };
  }
  return (
    variantsOf(known)
      ?.map((variant) => objectIn(variant, of))
      .find(({ properties }) => properties) ?? known
  );
}

/** Describes a type as in `text (uuid) or null`, with its bounds. */
function kindOf(schema: Schema, of: Description): string {
  const known = of.the(schema);
  const { type, format, enum: values, items, minimum, maximum, minLength, maxLength, default: fallback } = known;
  const variants = variantsOf(known);
  if (variants) return variants.map((variant) => kindOf(variant, of)).join(' or ');
  const kind =
    'const' in known
      ? JSON.stringify(known.const)
      : values
        ? values.map(String).join(' | ')
        : items
          ? `list of ${kindOf(items, of)}`
          : `${type ?? (known.allOf ? 'object' : 'anything')}${format ? ` (${format})` : ''}`;
  const [least, most] = [minimum ?? minLength, maximum ?? maxLength];
  const bounds = least === undefined && most === undefined ? '' : `, ${least ?? 0} to ${most ?? '∞'}`;
  return `${kind}${bounds}${fallback === undefined || fallback === null ? '' : `, ${JSON.stringify(fallback)} by default`}`;
}
