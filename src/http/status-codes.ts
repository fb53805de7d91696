// The texts of HTTP's status codes. They are not imported: node:http would load a whole client, and make a start about
// twenty milliseconds longer.

export const { STATUS_CODES } = process.getBuiltinModule('node:http')
