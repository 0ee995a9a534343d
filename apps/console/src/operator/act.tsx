import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { Confirm } from '../parts/modal.js';
import { OPERATOR } from './operator-queries.js';

const MAX_REASON = 1_000;

/** A button that asks for confirmation and a reason. */
export function Act({
  name,
  title,
  needsReason = false,
  act,
  children,
}: {
  name: string;
  title: string;
  needsReason?: boolean;
  act: (reason: string) => Promise<unknown>;
  children: ReactNode;
}) {
  const [isAsked, setIsAsked] = useState(false);
  return (
    <>
      <button type="button" className="small" onClick={() => setIsAsked(true)}>
        {name}
      </button>
      {isAsked && <Ask {...{ name, title, needsReason, act, children }} onClose={() => setIsAsked(false)} />}
    </>
  );
}

function Ask({
  name,
  title,
  needsReason,
  act,
  children,
  onClose,
}: Required<Parameters<typeof Act>[0]> & { onClose: () => void }) {
  const queries = useQueryClient();
  const [reason, setReason] = useState('');
  const acting = useMutation({
    mutationFn: () => act(reason.trim()),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: OPERATOR });
      onClose();
    },
  });
  return (
    <Confirm
      title={title}
      action={name}
      isBusy={acting.isPending || (needsReason && reason.trim() === '')}
      error={acting.error}
      onConfirm={() => acting.mutate()}
      onClose={onClose}
    >
      <p>{children}</p>
      <label>
        <span>{needsReason ? 'Why' : 'Why, if there is something to say'}; operators alone read it</span>
        <textarea rows={2} maxLength={MAX_REASON} value={reason} onChange={({ target }) => setReason(target.value)} />
      </label>
    </Confirm>
  );
}
