-- DCCP in UDP (RFC 6773) for Wireshark and tshark, decoded by Wireshark's own DCCP dissector: all fields and filters
-- that begin with "dccp." work.
--
-- Install: copy this file to the folder "Personal Lua Plugins" (Help > About Wireshark > Folders), or run
--     tshark -X lua_script:dccp-udp.lua -r FILE
-- Other UDP ports: set the preference dccp_udp.ports, for example
--     tshark -X lua_script:dccp-udp.lua -o dccp_udp.ports:6511,14233,5000 -r FILE
-- or select "DCCP_UDP" under Analyze > Decode As.
--
-- dccp.seq and dccp.ack count from the first packet; dccp.seq_raw and dccp.ack_raw are the numbers on the wire.

local proto = Proto("dccp_udp", "DCCP in UDP (RFC 6773)")

-- 6511 is the port that IANA assigned, 14233 the port of usrdccp's programs.
proto.prefs.ports = Pref.range("UDP ports", "6511,14233", "UDP ports that carry DCCP", 65535)

-- The dissector has no name in the list of dissectors, so it is found by its IP protocol number.
local dccp = DissectorTable.get("ip.proto"):get_dissector(33)
local udp_ports = DissectorTable.get("udp.port")

local CHECK = "dccp.check_checksum"

function proto.dissector(buffer, pinfo, tree)
    -- RFC 6773 section 3.3: UDP's checksum protects the packet, and the sender sets DCCP's field to 0.
    local checks = get_preference(CHECK)
    set_preference(CHECK, false)
    tree:add(proto, buffer(0, 0))
    local is_read, message = pcall(dccp.call, dccp, buffer, pinfo, tree)
    set_preference(CHECK, checks)
    if not is_read then
        error(message, 0)
    end
    return buffer:len()
end

local registered
local function register_ports()
    if registered then
        udp_ports:remove(registered, proto)
    end
    registered = proto.prefs.ports
    udp_ports:add(registered, proto)
end

proto.prefs_changed = register_ports
register_ports()
udp_ports:add_for_decode_as(proto)
