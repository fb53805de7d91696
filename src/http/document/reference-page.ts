// A readable reference of the interface: one page of plain HTML, made from the same table as the routes. It has no
// script, and loads nothing from elsewhere.

import { BASE_PATH, operations } from '../../contract/operations.ts'
import type { Operation } from '../../contract/operations.ts'
import { conditionOf } from '../../contract/conditions.ts'
import { API_VERSION } from './openapi.ts'
import { STATUS_CODES } from '../status-codes.ts'

type Schema = {
  type?: string | string[]
  enum?: unknown[]
  description?: string
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  format?: string
}

export function referencePage(): string {
  const entries = Object.entries(operations) as [string, Operation][]
  const rows = entries.map(
    ([name, { number, method, path, summary }]) =>
      `<tr><td>${number}</td><td><code>${method}</code></td><td><a href="#${name}"><code>${escape(path)}</code></a></td><td>${escape(summary)}</td></tr>`,
  )
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Channel Integration API ${API_VERSION}</title><style>${STYLE}</style></head><body><main>
<h1>Channel Integration API <small>${API_VERSION}</small></h1>
<p>All paths are under <code>${BASE_PATH}</code>; all bodies are JSON. Every operation but login needs
<code>Authorization: Bearer &lt;token&gt;</code>. The machine-readable form is <a href="openapi.json">openapi.json</a> (OpenAPI 3.1), or
<a href="openapi-3.0.json">openapi-3.0.json</a> for tools that know no 3.1.</p>
<table><thead><tr><th>#</th><th>Method</th><th>Path</th><th>What it does</th></tr></thead><tbody>${rows.join('')}</tbody></table>
${entries.map(([name, operation]) => section(name, operation)).join('\n')}
</main></body></html>`
}

function section(name: string, operation: Operation): string {
  const { number, method, path, summary, deprecated, roles, auth, params, query, body, ok, codes } = operation
  const access =
    roles === 'public'
      ? 'No token needed.'
      : `${roles.join(', ')}${auth ? `; permission <code>${auth}</code>` : ''}`
  return `<section id="${name}"><h2>${number}. ${escape(summary)}${deprecated ? ' <em>deprecated</em>' : ''}</h2>
<p><code>${method} ${escape(path)}</code></p><p><b>Who:</b> ${access}</p>
${fields('Path', params)}${fields('Query', query)}${fields('Body', body)}${fields('Answer 200', ok)}
<dl>${codes.map((code) => `<dt>${code} ${STATUS_CODES[code]}</dt><dd>${escape(conditionOf(name, code))}</dd>`).join('')}</dl></section>`
}

function fields(title: string, schema: Schema | undefined): string {
  if (!schema) return ''
  const list = schema.type === 'array' ? `<p>An array of:</p>${listOf(schema.items)}` : listOf(schema)
  return `<details${title.startsWith('Answer') ? '' : ' open'}><summary>${title}</summary>${list}</details>`
}

function listOf(schema: Schema | undefined): string {
  if (!schema?.properties) return schema ? `<p>${typeOf(schema)} ${escape(schema.description ?? '')}</p>` : ''
  const rows = Object.entries(schema.properties).map(([name, field]) => {
    const inner = field.items?.properties ? field.items : field
    const nested = inner.properties ? listOf(inner) : ''
    return `<li><code>${escape(name)}</code> <i>${typeOf(field)}</i> ${escape(field.description ?? '')}${nested}</li>`
  })
  return `<ul>${rows.join('')}</ul>`
}

function typeOf(schema: Schema): string {
  if (schema.enum) return escape(schema.enum.filter((one) => one !== null).join(' | '))
  if (schema.items) return `array of ${typeOf(schema.items)}`
  const type = Array.isArray(schema.type)
    ? schema.type.filter((one) => one !== 'null').join(' or ')
    : (schema.type ?? 'object')
  return type === 'object' ? 'object' : `${type}${schema.format ? ` (${schema.format})` : ''}`
}

function escape(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { margin: 0 } main { max-width: 60rem; margin: 0 auto; padding: 1rem }
table { border-collapse: collapse; width: 100%; font-size: .9rem } td, th { text-align: left; padding: .3rem .5rem; border-bottom: 1px solid #8884 }
section { border-top: 2px solid #8886; margin-top: 2rem } code { font-size: .9em } em { color: #b45309 }
dt { font-weight: 600 } ul { padding-left: 1.2rem } summary { cursor: pointer; font-weight: 600 } i { opacity: .75 }`
