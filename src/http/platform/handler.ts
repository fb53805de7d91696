// How an operation that the node adds is carried out.

import type { FastifyReply } from 'fastify'
import type {
  PlatformBodyOf,
  PlatformInputOf,
  PlatformOperationName,
  PlatformOperations,
  PlatformOutputOf,
} from '../../contract/platform.ts'
import type { Call, Context } from '../context.ts'

export type PlatformCall<N extends PlatformOperationName> = Pick<
  Call<'listChannels'>,
  'user' | 'request' | 'reply'
> & {
  input: PlatformInputOf<N>
  body: PlatformBodyOf<N>
}
/** What is no JSON is sent by the handler itself. */
type PlatformAnswerOf<N extends PlatformOperationName> = PlatformOperations[N] extends { produces: unknown }
  ? FastifyReply
  : PlatformOutputOf<N>
export type PlatformHandler<N extends PlatformOperationName> = (
  context: Context,
  call: PlatformCall<N>,
) => Promise<PlatformAnswerOf<N>>
export type PlatformHandlers = { [N in PlatformOperationName]: PlatformHandler<N> }
