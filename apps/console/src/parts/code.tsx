import { useState } from 'react';

/** Text to copy. React escapes it, so text of other people is safe. */
export function Code({ text, label }: { text: string; label: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 2_000);
  };
  return (
    <div className="code">
      <pre tabIndex={0} role="region" aria-label={label}>
        <code>{text}</code>
      </pre>
      <button type="button" className="small" onClick={() => void copy()}>
        {copied ? 'Copied' : 'Copy'}
        <span className="visually-hidden"> {label}</span>
      </button>
    </div>
  );
}

export const Json = ({ value, label }: { value: unknown; label: string }) => (
  <Code text={JSON.stringify(value, null, 2)} label={label} />
);
