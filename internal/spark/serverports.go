// SPDX-License-Identifier: Apache-2.0

package spark

// ServerPorts are what a Spark Connect server listens on.
type ServerPorts struct {
	Driver, BlockManager, UI, Connect int32
}

// defaultUIPort is the value of spark.ui.port that Spark begins with.
const defaultUIPort = 4040

// ServerPortsOf returns the ports that the properties of a server name. One that they do not name, or not as a number, is Spark's
// default: Build refuses what is wrong.
func ServerPortsOf(app Application) ServerPorts {
	values := mergeConf(&app)
	read := func(key string, preset int32) int32 {
		c := newConf(values, nil)
		if port := c.port(key, preset); c.err == nil && port > 0 && port <= maxPort {
			return port
		}
		return preset
	}
	ports := ServerPorts{
		Driver: read(ConfDriverPort, defaultDriverPort), BlockManager: read(ConfDriverBlockPort, defaultBlockManagerPort),
		UI: defaultUIPort, Connect: read(ConfConnectPort, defaultConnectPort),
	}
	if port := UIPort(app); port != 0 {
		ports.UI = port
	}
	return ports
}
