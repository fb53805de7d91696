// Included ahead of ssh2's binding (tools/build-ssh2.mjs). From Node 24.19 on, node::ObjectWrap takes its cleanup hook
// back when an object is collected, at a moment when there is no environment to take it from: the process aborts. Here
// that class is compiled without the hooks, as it was before; all that is lost is memory of objects that are alive when
// a thread ends.

#pragma once

#include <node.h>

#define AddEnvironmentCleanupHook(...) static_cast<void>(0)
#define RemoveEnvironmentCleanupHook(...) static_cast<void>(0)
#include <node_object_wrap.h>
#undef AddEnvironmentCleanupHook
#undef RemoveEnvironmentCleanupHook
