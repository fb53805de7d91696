// Schemas are compiled at the first request that needs them, and the compilers loaded then: for all operations together
// that is as much work as the rest of the start. They are Fastify's own, taken from beside it.

import type { FastifyServerOptions } from 'fastify'
import { createRequire } from 'node:module'

type Factories = NonNullable<NonNullable<FastifyServerOptions['schemaController']>['compilersFactory']>
// Fastify declares the validators' factory as that package's own type; this is the part of it used here.
type BuildValidator = (schemas: unknown, options: unknown) => (route: unknown) => Validate
type BuildSerializer = NonNullable<Factories['buildSerializer']>
type Validate = ((data: unknown) => boolean) & { errors?: unknown }

const here = createRequire(import.meta.url)

/** A package that Fastify depends on, whatever the place npm gave it. */
function besideFastify(name: string): unknown {
  return createRequire(here.resolve('fastify'))(name)
}

export const lazyCompilers: Factories = {
  buildValidator: ((schemas: unknown, options: unknown) => {
    let compile: ReturnType<BuildValidator> | undefined
    return (route: unknown) => {
      let validate: Validate | undefined
      const lazy: Validate = (data) => {
        compile ??= (besideFastify('@fastify/ajv-compiler') as () => BuildValidator)()(schemas, options)
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
        compile ??= (besideFastify('@fastify/fast-json-stringify-compiler') as () => BuildSerializer)()(
          ...given,
        )
        serialise ??= compile(route)
        return serialise(data)
      }
    }
  }) as BuildSerializer,
}
