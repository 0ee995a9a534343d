import { useEffect, useState } from 'react';
import { useTitle } from '../lib/use-title.js';
import { Empty, Loaded } from '../parts/states.js';
import { useDescription, type Description } from './docs/document.js';
import { Guide } from './docs/guide.js';
import { OperationDocs } from './docs/operation.js';

/** The addresses and names of the documentation's pages, set by build.mjs. */
declare const DOCS: Record<string, string>;

/** The guide, followed by every operation of the OpenAPI document. */
export default function Docs() {
  useTitle('Documentation');
  const description = useDescription();
  return (
    <>
      <nav aria-label="Documentation" className="tabs">
        {Object.entries(DOCS).map(([to, name]) => (
          <a key={to} href={to} aria-current={to === '/docs' ? 'page' : undefined}>
            {name}
          </a>
        ))}
      </nav>
      <h1>Documentation</h1>
      <div className="stack prose-width">
        <Guide />
        <section aria-labelledby="reference">
          <h2 id="reference">Reference</h2>
          <Loaded query={description} lines={10}>
            {(found) => <Reference of={found} />}
          </Loaded>
        </section>
      </div>
    </>
  );
}

function Reference({ of }: { of: Description }) {
  const [sought, setSought] = useState('');
  const words = sought.toLowerCase().split(/\s+/);
  const found = of.operations.filter(({ method, path, summary }) => {
    const text = `${method} ${path} ${summary}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  // Scrolls to the anchor in the URL, which did not exist yet when the browser looked for it.
  useEffect(() => document.getElementById(window.location.hash.slice(1))?.scrollIntoView(), []);
  return (
    <>
      <form role="search" className="filters" onSubmit={(event) => event.preventDefault()}>
        <label className="grow">
          <span>Find an operation</span>
          <input type="search" value={sought} onChange={({ target }) => setSought(target.value)} />
        </label>
      </form>
      {found.length === 0 && <Empty title="No operation is called that" />}
      {of.tags.map(({ name, description }) => {
        const operations = found.filter(({ tags }) => tags.includes(name));
        if (operations.length === 0) return null;
        return (
          <section key={name} className="operations" aria-labelledby={`tag-${name}`}>
            <h3 id={`tag-${name}`}>{name}</h3>
            <p className="muted">{description}</p>
            {operations.map((operation) => (
              <OperationDocs key={operation.operationId} operation={operation} of={of} />
            ))}
          </section>
        );
      })}
    </>
  );
}
