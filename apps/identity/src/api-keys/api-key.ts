import { apiKeyOf } from '@market/contracts/identity';
import { newCredentialSecret } from '../credential-secret.js';

const SHOWN_LENGTH = 12;

/** A raw key: in memory while one request is answered. Only its hash and its visible prefix are stored. */
export const generateApiKey = (): string => apiKeyOf(newCredentialSecret());

/** The first 12 characters, shown in lists so that people tell their keys apart; never a credential. */
export const apiKeyPrefix = (key: string): string => key.slice(0, SHOWN_LENGTH);
