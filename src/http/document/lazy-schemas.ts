// Schemas are compiled at the first request that needs them, and the compilers are loaded then. Doing so at the start,
// for all operations, would double its time. The compilers are the packages that Fastify uses by default, in the same
// version, as our own dependencies.

import { createRequire } from 'node:module'
import type { FastifyServerOptions } from 'fastify'

type Factories = NonNullable<NonNullable<FastifyServerOptions['schemaController']>['compilersFactory']>
// Fastify gives this factory the package's own type. Only this part of it is used here.
type BuildValidator = (schemas: unknown, options: unknown) => (route: unknown) => Validate
type BuildSerializer = NonNullable<Factories['buildSerializer']>
type Validate = ((data: unknown) => boolean) & { errors?: unknown }

/** Validation cannot wait, so this is not an `import()`. */
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
