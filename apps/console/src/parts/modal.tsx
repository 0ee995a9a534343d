import { useId, useLayoutEffect, useRef, type ReactNode } from 'react';

/** The browser's own modal dialog: it traps the focus, closes with Escape and restores the focus. */
export function Modal({ title, onClose, children }: { title: string; onClose: () => void; children: ReactNode }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  // The dialog is closed before it is removed, so that the browser restores the focus.
  useLayoutEffect(() => {
    const element = dialog.current!;
    element.showModal();
    return () => element.close();
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby={heading} onCancel={onClose}>
      <h2 id={heading}>{title}</h2>
      {children}
    </dialog>
  );
}

/** The end of a form in a dialog. */
export const SubmitOrCancel = ({
  action,
  isDisabled,
  onClose,
}: {
  action: string;
  isDisabled: boolean;
  onClose: () => void;
}) => (
  <div className="row end">
    <button type="button" onClick={onClose}>
      Cancel
    </button>
    <button type="submit" className="primary" disabled={isDisabled}>
      {action}
    </button>
  </div>
);

/** The end of a dialog that only shows something. */
export const CloseButton = ({ onClose }: { onClose: () => void }) => (
  <div className="row end">
    <button type="button" onClick={onClose}>
      Close
    </button>
  </div>
);

/** Asks for confirmation before an action that cannot be undone. */
export function Confirm({
  title,
  action,
  isBusy,
  error,
  onConfirm,
  onClose,
  children,
}: {
  title: string;
  action: string;
  isBusy: boolean;
  error: unknown;
  onConfirm: () => void;
  onClose: () => void;
  children: ReactNode;
}) {
  return (
    <Modal title={title} onClose={onClose}>
      {children}
      {error !== null && (
        <p role="alert" className="error">
          {String((error as Error).message)}
        </p>
      )}
      <div className="row end">
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button type="button" className="danger" disabled={isBusy} onClick={onConfirm}>
          {action}
        </button>
      </div>
    </Modal>
  );
}
