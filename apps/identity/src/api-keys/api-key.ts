import { apiKeyOf } from '@market/contracts/identity';
import { newCredentialSecret } from '../credential-secret.js';

const SHOWN_LENGTH = 12;

/**
 * Generates a raw key. It is in memory only while one request is answered; only its hash and its visible prefix are
 * stored.
 */
export const generateApiKey = (): string => apiKeyOf(newCredentialSecret());

/** The first 12 characters, which lists show so that people can distinguish their keys. They are not a credential. */
export const apiKeyPrefix = (key: string): string => key.slice(0, SHOWN_LENGTH);
