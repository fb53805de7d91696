// What the demo's two nodes are made of: their places, ports and certificates.

export type DemoNode = {
  folder: string
  httpPort: number
  oftp2Port: number
  oftp2TlsPort: number
  /** PEM: key and certificate, the certificate alone. */
  identity: string
  certificate: string
}

export type DemoParts = {
  bank: DemoNode
  partner: DemoNode
  closedPort: number
  /** Where the demo itself hears of events, and what they are signed with. */
  receiver: { port: number; secret: string }
  password: string
  now: Date
}
