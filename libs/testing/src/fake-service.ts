import { topology, type InputOf, type OutputOf, type RequestContract, type ServiceName } from '@market/contracts';
import { serveRequest, type Link, type RequestContext, type Transport } from '@market/messaging';

/** Connects a service that answers one of its requests with a function, without a container. */
export async function connectFake<C extends RequestContract>(
  transport: Transport,
  name: ServiceName,
  contract: C,
  answer: (input: InputOf<C>, context: RequestContext) => OutputOf<C> | Promise<OutputOf<C>>,
): Promise<Link> {
  const link = await transport.connect(name, topology[name]);
  serveRequest(link.server, contract, async (input, context) => answer(input, context));
  link.server.listen(() => undefined);
  return link;
}
