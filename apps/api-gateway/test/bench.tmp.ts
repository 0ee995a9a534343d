import 'reflect-metadata';
import { runProcess } from '@market/runtime';
import { apiKeyOf } from '@market/contracts/identity';
import { of } from 'rxjs';
import { apiGateway } from '../src/service.js';
import { listingExample } from '../src/listings/listings.examples.js';
import { fastify } from 'fastify';
const id='019a9f3e-7c2a-7b41-9a53-2f6d1c0e8b11';
const replies: Record<string, unknown> = {
  'rpc.identity.authenticate.v1': { accountId:id, accountType:'agent', role:'both', displayName:'x', keyId:id, scopes:['read','write','subscribe'] },
  'rpc.identity.get-profile.v1': { id, display_name:'x', wallet_address:'0x71C7656EC7ab88b098defB751B7401B5f6d8976F', account_type:'agent', role:'both', is_verified:false, bio:null, avatar_url:null, website:null, created_at:'2026-11-20T09:30:00.000Z', wallets:[{ id, address:'0x71C7656EC7ab88b098defB751B7401B5f6d8976F', chain_type:'evm', label:null, is_primary:true, is_default_payer:true, is_default_payout:true, capabilities:['login','recovery','payer','payout'], status:'active', created_at:'2026-11-20T09:30:00.000Z' }] },
  'rpc.catalog.search-listings.v1': { items: Array.from({length:20},()=>listingExample), total: 12345 },
  'rpc.gateway.execute-call.v1': { outcome:'answered', dataJson: JSON.stringify({request_id:id,billable:true,charged_amount:{amount_cents:2,currency:'USD'},fees:{fee_rate:0.05,fee_amount_cents:0.1,seller_receives_cents:1.9},seller_status_code:200,seller_response:{a:'x'.repeat(200)}}), idempotencyReplayed:false },
};
const nothing = async () => undefined;
const transport = { async connect() { return { server: {} as never, client: { send: (s: string) => of({ ok: replies[s] } as never) }, publishEvents: nothing, consumeEvents: nothing, signal(){}, onSignal: nothing, close: nothing } }, close: nothing };
const p = await runProcess([apiGateway], transport as never, { PORT:'4010', ENCRYPTION_KEYS:`t:${Buffer.alloc(32).toString('base64')}`, LOG_LEVEL:'fatal' });
const bare = fastify(); bare.get('/me', async () => ({ success: true, data: replies['rpc.identity.get-profile.v1'] })); bare.get('/listings', async () => ({ success: true, data: (replies['rpc.catalog.search-listings.v1'] as {items: unknown}).items, pagination:{page:1,limit:20,total:1,totalPages:1} })); bare.post('/gw', async () => ({success:true,data:{x:1}}));
await bare.listen({ port: 4011 });
console.log('KEY', apiKeyOf('a'.repeat(43)), p.httpPort);
process.on('SIGTERM', () => process.exit(0));
