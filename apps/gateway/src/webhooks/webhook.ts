import type { OutputOf } from '@market/contracts';
import type { getWebhook } from '@market/contracts/gateway';
import type { FieldCipher } from '@market/persistence';
import { newSigningSecret } from '../egress/signing-secret.js';

export type WebhookView = OutputOf<typeof getWebhook>;

export interface WebhookRow {
  id: string;
  account_id: string;
  url_sealed: Buffer;
  description: string | null;
  /** Null for all types. */
  event_types: string[] | null;
  status: WebhookView['status'];
  disabled_reason: WebhookView['disabled_reason'];
  secret_sealed: Buffer;
  /** Signs, too, until it expires. */
  previous_secret_sealed: Buffer | null;
  previous_secret_expires_at: Date | null;
  /** The last event for which deliveries were stored. */
  last_event_id: string;
  last_success_at: Date | null;
  last_failure_at: Date | null;
  created_at: Date;
  updated_at: Date;
}

export const webhookColumns = `w.id, w.account_id, w.url_sealed, w.description, w.event_types, w.status, w.disabled_reason,
  w.secret_sealed, w.previous_secret_sealed, w.previous_secret_expires_at, w.last_event_id::text,
  w.last_success_at, w.last_failure_at, w.created_at, w.updated_at`;

/** The additional authenticated data of the encrypted columns. A rotated secret moves within its row. */
const sealedFor = {
  url: (id: string): string => `webhooks|url_sealed|${id}`,
  secret: (id: string): string => `webhooks|secret|${id}`,
};

export const sealUrl = (id: string, url: string, cipher: FieldCipher): Buffer => cipher.encrypt(url, sealedFor.url(id));

export function newSealedSecret(id: string, cipher: FieldCipher): { secret: string; sealed: Buffer } {
  const { secret } = newSigningSecret();
  return { secret, sealed: cipher.encrypt(secret, sealedFor.secret(id)) };
}

const isPreviousValid = ({ previous_secret_expires_at: end }: WebhookRow): boolean =>
  end !== null && end.getTime() > Date.now();

/** Where a webhook's events are sent, and what signs them. */
export function targetOf(row: WebhookRow, cipher: FieldCipher) {
  const sealed = [row.secret_sealed, ...(isPreviousValid(row) ? [row.previous_secret_sealed!] : [])];
  return {
    webhookId: row.id,
    url: cipher.decrypt(row.url_sealed, sealedFor.url(row.id)),
    secrets: sealed.map((secret) => ({ secret: cipher.decrypt(secret, sealedFor.secret(row.id)) })),
  };
}

export const toWebhookView = (row: WebhookRow, cipher: FieldCipher): WebhookView => ({
  id: row.id,
  url: cipher.decrypt(row.url_sealed, sealedFor.url(row.id)),
  description: row.description,
  event_types: row.event_types,
  status: row.status,
  disabled_reason: row.disabled_reason,
  previous_secret_expires_at: isPreviousValid(row) ? row.previous_secret_expires_at!.toISOString() : null,
  last_success_at: row.last_success_at?.toISOString() ?? null,
  last_failure_at: row.last_failure_at?.toISOString() ?? null,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
});
