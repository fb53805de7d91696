// Schemas are compiled at the first request that needs them, and the compilers loaded then: for all operations together
// that is as much work as the rest of the start. They are the packages that Fastify takes by default, in the same
// version, as dependencies of our own.

import { createRequire } from 'node:module'
import type { FastifyServerOptions } from 'fastify'

type Factories = NonNullable<NonNullable<FastifyServerOptions['schemaController']>['compilersFactory']>
// Fastify declares the validators' factory as that package's own type; this is the part of it used here.
type BuildValidator = (schemas: unknown, options: unknown) => (route: unknown) => Validate
type BuildSerializer = NonNullable<Factories['buildSerializer']>
type Validate = ((data: unknown) => boolean) & { errors?: unknown }

/** A request is validated in one turn: `import()` would come too late. */
const require = createRequire(import.meta.url)

export const lazyCompilers: Factories = {
  buildValidator: ((schemas: unknown, options: unknown) => {
    let compile: ReturnType<BuildValidator> | undefined
    return (route: unknown) => {
      let validate: Validate | undefined
      const lazy: Validate = (data) => {
        compile ??= (require('@fastify/ajv-compiler') as () => BuildValidator)()(schemas, options)
        validate ??= compile(route)
        const passed = validate(data)
        lazy.errors = validate.errors
        return passed
      }
      return lazy
    }
  }) as unknown as Factories['buildValidator'],
  buildSerializer: ((...given) => {
    let compile: ReturnType<BuildSerializer> | undefined
    return (route) => {
      let serialise: ((data: unknown) => string) | undefined
      return (data) => {
        compile ??= (require('@fastify/fast-json-stringify-compiler') as () => BuildSerializer)()(...given)
        serialise ??= compile(route)
        return serialise(data)
      }
    }
  }) as BuildSerializer,
}
