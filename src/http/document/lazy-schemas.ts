// Schemas are compiled at the first request that needs them, and the compilers are loaded then. Doing so at the start,
// for all operations, would double its time. The compilers are the packages that Fastify uses by default, in the same
// version, as our own dependencies.

import { createRequire } from 'node:module'
import type { FastifyServerOptions } from 'fastify'

type Factories = NonNullable<NonNullable<FastifyServerOptions['schemaController']>['compilersFactory']>
// Fastify gives this factory the package's own type. Only this part of it is used here.
type BuildValidator = (schemas: unknown, options: unknown) => (route: unknown) => Validate
type BuildSerializer = NonNullable<Factories['buildSerializer']>
type Serialize = (data: unknown) => string
type Validate = ((data: unknown) => boolean) & { errors?: unknown }

/** Validation cannot wait, so this is not an `import()`. */
const require = createRequire(import.meta.url)

// The schemas are constants, so what is compiled of them holds for every server of this process. The validators'
// package remembers by itself, the other does not.
let validators: BuildValidator | undefined
let serializers: BuildSerializer | undefined
const serialized = new WeakMap<object, Serialize>()

export const lazyCompilers: Factories = {
  buildValidator: ((schemas: unknown, options: unknown) => (route: unknown) => {
    let validate: Validate | undefined
    const lazy: Validate = (data) => {
      validators ??= (require('@fastify/ajv-compiler') as () => BuildValidator)()
      validate ??= validators(schemas, options)(route)
      const passed = validate(data)
      lazy.errors = validate.errors
      return passed
    }
    return lazy
  }) as unknown as Factories['buildValidator'],
  buildSerializer: ((...given) =>
    (route) => {
      const { schema } = route as { schema: object }
      let serialize = serialized.get(schema)
      return (data) => {
        if (!serialize) {
          serializers ??= (require('@fastify/fast-json-stringify-compiler') as () => BuildSerializer)()
          serialize = serialized.get(schema) ?? serializers(...given)(route)
          serialized.set(schema, serialize)
        }
        return serialize(data)
      }
    }) as BuildSerializer,
}
