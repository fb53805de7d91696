// What lies in deploy/monitoring against a real Prometheus: the rules are well formed, what it scrapes is well formed,
// and every figure that an alert or a panel asks for is one that the node shows.

import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import { parse, stringify } from 'yaml'
import { fromRoot } from '../../src/root.ts'
import { esclusa, NodeProcess } from '../crash/node-process.ts'
import { makeTestKey } from '../support/cms-keys.ts'
import { closeAfter, tempFolder, waitFor } from '../support/harness.ts'
import { freePort } from '../support/free-port.ts'

const run = promisify(execFile)
const PATIENCE_MS = 120_000
const TOKEN = 'a-token-for-the-scraper'
const SECRET = `whsec_${Buffer.from('a secret that is 32 octets long!').toString('base64')}`
const place = (name: string) => fromRoot(`deploy/monitoring/${name}`)

async function whyNot(): Promise<string | false> {
  try {
    await run('promtool', ['--version'])
    await run('prometheus', ['--version'])
    return false
  } catch {
    return 'SKIPPED: no prometheus and promtool here'
  }
}

const skip = await whyNot()

async function startScraped(t: TestContext): Promise<NodeProcess> {
  const folder = await tempFolder(t)
  const settings = {
    ESCLUSA_DATA_DIR: join(folder, 'data'),
    ESCLUSA_PORT: '0',
    ESCLUSA_METRICS_TOKEN: TOKEN,
  }
  const files = join(folder, 'data', 'files')
  const { certificatePem } = await makeTestKey('acme')
  await writeFile(
    join(folder, 'platform.yaml'),
    stringify({
      localEntities: [{ code: 'BANCO', name: 'Banco' }],
      contacts: [
        {
          id: 'acme',
          remoteCodes: [{ code: 'ACME' }],
          protocol: 'folder',
          folder: { inbox: join(files, 'in'), outbox: join(files, 'out') },
        },
      ],
      channels: [
        {
          code: 'BANCO-ACME-NOMINA',
          contact: 'acme',
          direction: 'EMISION',
          security: { rsaRemoteKey: certificatePem },
        },
      ],
      subscriptions: [
        {
          id: 'ops',
          webhook: { url: 'https://ops.example/hook', secrets: [SECRET] },
          events: ['transfer.failed'],
        },
      ],
    }),
  )
  await esclusa(settings, 'apply', join(folder, 'platform.yaml'))
  const node = await NodeProcess.start(settings)
  closeAfter(t, () => node.kill())
  return node
}

/** Prometheus cannot say which port it was given: one that was free a moment ago is tried, and another if it is taken. */
async function startPrometheus(t: TestContext, target: string): Promise<string> {
  const folder = await tempFolder(t)
  await copyFile(place('alerts.yml'), join(folder, 'alerts.yml'))
  await writeFile(join(folder, 'esclusa-metrics-token'), TOKEN)
  const settings = parse(await readFile(place('prometheus.yml'), 'utf8')) as {
    global: { scrape_interval: string }
    scrape_configs: { static_configs: { targets: string[] }[] }[]
  }
  settings.global.scrape_interval = '1s'
  for (const job of settings.scrape_configs) job.static_configs = [{ targets: [target] }]
  await writeFile(join(folder, 'prometheus.yml'), stringify(settings))
  for (let tries = 0; tries < 5; tries++) {
    const port = await freePort()
    const child = spawn(
      'prometheus',
      [
        `--config.file=${join(folder, 'prometheus.yml')}`,
        `--storage.tsdb.path=${join(folder, `data-${tries}`)}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      { stdio: 'ignore', cwd: folder },
    )
    const gone = once(child, 'exit')
    closeAfter(t, async () => {
      child.kill('SIGKILL')
      await gone
    })
    const url = `http://127.0.0.1:${port}`
    const ready = await waitFor(
      'Prometheus',
      async () => {
        if (child.exitCode !== null) return 'gone'
        const answer = await fetch(`${url}/-/ready`).catch(() => undefined)
        return answer?.ok ? 'ready' : undefined
      },
      PATIENCE_MS,
    )
    if (ready === 'ready') return url
  }
  throw new Error('Prometheus did not start')
}

type Answer = { data: { result: { metric: Record<string, string>; value: [number, string] }[] } }

async function query(url: string, expression: string): Promise<Answer['data']['result']> {
  const answer = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(expression)}`)
  const body = (await answer.json()) as Answer & { error?: string }
  assert.equal(answer.status, 200, `${expression}: ${body.error}`)
  return body.data.result
}

async function expressions(): Promise<string[]> {
  const rules = parse(await readFile(place('alerts.yml'), 'utf8')) as {
    groups: { rules: { expr: string }[] }[]
  }
  const board = JSON.parse(await readFile(place('grafana-dashboard.json'), 'utf8')) as {
    panels: { targets: { expr: string }[] }[]
  }
  return [
    ...rules.groups.flatMap((group) => group.rules.map(({ expr }) => expr)),
    ...board.panels.flatMap((panel) => panel.targets.map(({ expr }) => expr.replaceAll('$job', '.*'))),
  ]
}

test('the alert rules are well formed', { skip }, async () => {
  const { stdout } = await run('promtool', ['check', 'rules', place('alerts.yml').pathname])
  assert.match(stdout, /SUCCESS: \d+ rules found/)
})

test('a real Prometheus scrapes a node, and finds what alerts and dashboard ask for', { skip }, async (t) => {
  const node = await startScraped(t)
  const metrics = await fetch(`${node.url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })
  const text = await metrics.text()
  assert.equal(metrics.status, 200, text)
  await new Promise<void>((resolve, reject) => {
    const lint = execFile('promtool', ['check', 'metrics'], (error, _out, complaint) =>
      error && /error while linting|parse/.test(complaint) ? reject(new Error(complaint)) : resolve(),
    )
    lint.stdin?.end(text)
  })
  const shown = new Set([...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name = '']) => name))
  const asked = (await expressions()).flatMap((one) => one.match(/\b(esclusa|process|nodejs)_\w+/g) ?? [])
  for (const name of new Set(asked))
    assert.ok(shown.has(name.replace(/_(bucket|sum|count)$/, '')), `${name} is asked for and not shown`)

  const url = await startPrometheus(t, new URL(node.url).host)
  await waitFor(
    'a scrape',
    async () => (await query(url, 'up{job="esclusa"}'))[0]?.value[1] === '1',
    PATIENCE_MS,
  )
  const [status] = await query(url, 'esclusa_channel_status')
  assert.deepEqual(
    [status?.metric.channel, status?.metric.partner, status?.metric.status],
    ['BANCO-ACME-NOMINA', 'acme', 'IDLE'],
  )
  const [certificate] = await query(url, 'esclusa_certificate_days_left')
  assert.equal(certificate?.metric.use, 'security.rsaRemoteKey')
  assert.ok(Number(certificate.value[1]) > 0)
  for (const expression of await expressions()) await query(url, expression)
  for (const thread of ['http', 'engine'])
    assert.equal((await query(url, `esclusa_event_loop_lag_seconds_max{thread="${thread}"}`)).length, 1)
})

test('standard output of a node is JSON, line by line; what is for people goes elsewhere', async (t) => {
  const folder = await tempFolder(t)
  const settings = { ESCLUSA_DATA_DIR: join(folder, 'data'), ESCLUSA_PORT: '0' }
  const child = spawn(process.execPath, [fromRoot('bin/esclusa.js').pathname, 'serve'], {
    env: { PATH: process.env.PATH, HOME: folder, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const gone = once(child, 'close')
  let [out, banner] = ['', '']
  child.stdout.on('data', (text) => (out += String(text)))
  child.stderr.on('data', (text) => (banner += String(text)))
  closeAfter(t, async () => {
    child.kill('SIGKILL')
    await gone
  })
  await waitFor('the banner', () => /ready at/.test(banner), PATIENCE_MS)
  child.kill('SIGTERM')
  await gone
  const lines = out.trim().split('\n')
  assert.ok(lines.length >= 2)
  for (const line of lines) assert.equal(typeof (JSON.parse(line) as { msg?: string }).msg, 'string', line)
  const password = await readFile(join(folder, 'data', 'first-password'), 'utf8')
  assert.ok(!out.includes(password.trim()) && !banner.includes(password.trim()))
})
