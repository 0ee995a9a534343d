import type { ReactNode } from 'react';
import { Code } from './code.js';
import { Modal } from './modal.js';

/** A new secret, which is shown only this once because it is not stored. */
export const ShownOnce = ({
  title,
  label,
  secret,
  children,
  onClose,
}: {
  title: string;
  label: string;
  secret: string;
  children: ReactNode;
  onClose: () => void;
}) => (
  <Modal title={title} onClose={onClose}>
    <p>Copy it now: it is not shown again{children}</p>
    <Code text={secret} label={label} />
    <div className="row end">
      <button type="button" className="primary" onClick={onClose}>
        I have kept it
      </button>
    </div>
  </Modal>
);
