import { useId, useLayoutEffect, useRef, type ReactNode } from 'react';

/** The browser's own modal dialog: it holds the focus, ends with Escape and gives the focus back. */
export function Modal({ title, onClose, children }: { title: string; onClose: () => void; children: ReactNode }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  // Closed while it still stands in the page, so that the focus goes back to where it was.
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

/** Asks once more before something that cannot be undone. */
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
