// The words of HTTP's status codes. Not by an import: that would load all that node:http can show, a whole client among
// it, and cost a start some twenty milliseconds.

export const { STATUS_CODES } = process.getBuiltinModule('node:http')
